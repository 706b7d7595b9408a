"""Configuration: the pipeline file and the cases of commands, with every key typed in one place."""

from __future__ import annotations

from mead.config.operator_keys import GroupingKeys, GroupingKind, OperatorKeys
from mead.config.pipeline_file import PipelineFile, PipelineKeys, parse_pipeline, read_pipeline
from mead.config.policy_choice import choose_policy
from mead.config.source_keys import PayloadKeys, RabbitMQKeys, SourceKeys
from mead.config.yaml_lines import read_yaml

__all__ = [
    "GroupingKeys",
    "GroupingKind",
    "OperatorKeys",
    "PayloadKeys",
    "PipelineFile",
    "PipelineKeys",
    "RabbitMQKeys",
    "SourceKeys",
    "choose_policy",
    "parse_pipeline",
    "read_pipeline",
    "read_yaml",
]
