"""Events of the four applications, generated from their numbers: the same number gives the same event.

An event is JSON: who sent it, and a text. The text comes from a template, whose answers to the questions of the
operators are known. Which template it is, is not part of the event.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from mead.arrays import IntArray


@dataclass(frozen=True)
class Template:
    """Texts of one kind, and the answers to questions about them."""

    text: str
    answers: Mapping[str, str]


def _tweet(text: str, section: str, topic: str = "none", *, news: str = "none", mood: str = "none") -> Template:
    spam = "yes" if section == "spam" else "no"
    return Template(text, {"spam": spam, "section": section, "news": news, "topic": topic, "mood": mood})


TEMPLATES: Mapping[str, tuple[Template, ...]] = {
    "tweets": (
        _tweet("win free phones today click shop{b} dot example offer {c} ends tonight", "spam"),
        _tweet("thank you user{b} for the lovely photos of your garden party", "users", mood="good"),
        _tweet("user{b} please stop calling my number {c} every single morning", "users", mood="bad"),
        _tweet("happy birthday user{b} see you at the station around noon", "users", mood="good"),
        _tweet("user{b} lost another of my letters the service is terrible", "users", mood="bad"),
        _tweet("ministry reports {c} new infections hospitals in region {b} are full", "news", "health", news="report"),
        _tweet("parliament votes on budget {c} after a debate of {b} hours", "news", "politics", news="report"),
        _tweet("striker scores twice as club {b} beats champions in the cup final", "news", "sport", news="report"),
        _tweet("what a wonderful match the best final in {b} years", "news", "sport", news="opinion", mood="good"),
        _tweet("this budget is a shame and hurts {b} families", "news", "politics", news="opinion", mood="bad"),
    ),
    "dns": tuple(
        Template(text, {"malicious": malicious, "purpose": purpose})
        for text, malicious, purpose in (
            ("www shop{b} example type A answer 10.{b}.7.{c} ttl 300 noerror", "no", "web"),
            ("cdn{b} images example type AAAA answer 2001:db8::{c} ttl 60 noerror", "no", "web"),
            ("mail{b} office example type MX answer relay{c} ttl 3600 noerror", "no", "mail"),
            ("pool ntp{b} example type A answer 10.9.{b}.{c} ttl 30 noerror", "no", "time"),
            ("{x} exfil tunnel{b} invalid type TXT answer {x} ttl 0 noerror", "yes", "tunnel"),
            ("{x} botnet{b} invalid type A nxdomain retry {c}", "yes", "command"),
            ("version bind chaos type ANY refused scanner probe {b} of {c}", "yes", "scan"),
        )
    ),
    "logs": tuple(
        Template(text, {"template": template, "severity": severity})
        for text, template, severity in (
            ("receiving block blk_{x} source 10.{b}.0.1 destination 10.{c}.0.2", "receive", "normal"),
            ("packet responder {b} for block blk_{x} terminating", "respond", "normal"),
            ("verification succeeded for blk_{x} on node {b}", "verify", "normal"),
            ("deleting block blk_{x} file of volume {b} scheduled by namesystem", "delete", "normal"),
            ("exception in receiveBlock for blk_{x} connection reset by peer {b}", "reset", "failure"),
            ("pending replication monitor timed out block blk_{x} after {c} seconds", "timeout", "failure"),
        )
    ),
}
"""Templates by kind of event. All of a kind are equally frequent."""


def make_events(kind: str) -> Callable[[IntArray], pa.RecordBatch]:
    """Make the function that returns the events with these numbers, in a column ``event``.

    >>> import numpy as np
    >>> make_events("tweets")(np.array([4]))["event"][0].as_py()
    '{"who": "user155", "text": "thank you user116 for the lovely photos of your garden party"}'
    """
    if kind not in TEMPLATES:
        raise ValueError(f"there are no events {kind!r}; choose from {', '.join(TEMPLATES)}")
    return partial(_events, kind)


def _events(kind: str, numbers: IntArray) -> pa.RecordBatch:
    lines = []
    for number in numbers.tolist():
        template, bits = template_of(kind, number), _bits(number)
        text = template.text.format(b=bits >> 8 & 127, c=bits >> 16 & 255, x=f"{bits >> 24:x}")
        lines.append(json.dumps({"who": f"user{bits & 255}", "text": text}))
    return pa.record_batch({"event": pa.array(lines, pa.string())})


def template_of(kind: str, number: int) -> Template:
    """The template of an event, from its number: what classifiers have to find out from the text."""
    templates = TEMPLATES[kind]
    return templates[(_bits(number) >> 40) % len(templates)]


def _bits(number: int) -> int:
    """64 pseudo-random bits (Steele, Lea and Flood, SplitMix, OOPSLA 2014, Fig. 17)."""
    mask = (1 << 64) - 1
    state = (number + 1) * 0x9E3779B97F4A7C15 & mask
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
    state = (state ^ state >> 27) * 0x94D049BB133111EB & mask
    return state ^ state >> 31
