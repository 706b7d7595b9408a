// The data of the run: rounds from the server's events, as many as the server keeps.

const KEPT = 3600;
const AGAIN_MS = 2000;

export class Feed extends EventTarget {
  constructor() {
    super();
    this.run = null;
    this.rounds = [];
    this.state = "connecting";
    this.silentSince = null;
    this.kept = null; // all decisions, after the end of the run
    this.leaving = new AbortController();
  }

  async start() {
    this.begin(await get("/api/run"));
    this.connect();
  }

  begin(run) {
    Object.assign(this, { run, requirements: run.requirements, changes: run.changes, lastEvent: `${run.id}/0` });
  }

  connect() {
    const events = new EventSource(`/events?last=${encodeURIComponent(this.lastEvent)}`);
    events.addEventListener("rounds", (event) => {
      const { rounds, requirements, changes } = JSON.parse(event.data);
      this.rounds.push(...rounds);
      Object.assign(this, { requirements, changes, lastEvent: event.lastEventId });
      if (this.rounds.length > KEPT) this.rounds.splice(0, this.rounds.length - KEPT);
      this.tell("live");
    });
    events.addEventListener("silent", (event) => {
      this.silentSince = new Date(JSON.parse(event.data).since_s * 1000);
      this.tell("silent");
    });
    // The server now serves another run.
    events.addEventListener("another-run", () => location.reload());
    events.addEventListener("finished", async (event) => {
      this.state = "finished";
      const { stays } = JSON.parse(event.data);
      // A server that stops with its run waits for its clients; later requests would fail.
      if (!stays) await this.keep();
      events.close();
      this.tell("finished");
    });
    events.addEventListener("open", () => this.state === "connecting" || this.tell("live"));
    events.addEventListener("error", () => {
      if (this.state === "finished") { events.close(); return; }
      // A browser reconnects after a broken connection, but not after a refusal (the server has too many clients).
      if (events.readyState === EventSource.CLOSED) setTimeout(() => this.connect(), AGAIN_MS);
      this.tell("lost");
    });
  }

  tell(state) {
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }

  get last() {
    return this.rounds.at(-1);
  }

  // The paths with a requirement; all paths if there is none.
  get asked() {
    const { pipeline, requirements } = this.run;
    return pipeline.paths.filter((path) => !requirements.length || requirements.some((r) => r.path === path));
  }

  // The range of the time axis of all charts.
  span(seconds) {
    if (!this.last) return null;
    const first = this.rounds[0].time_s;
    return [seconds ? Math.max(first, this.last.time_s - seconds) : first, Math.max(this.last.time_s, first + 1)];
  }

  // Marks in all charts at changes, applied or only planned.
  marks() {
    const acts = this.run.mode === "act"; // advice that matches the allocation in force is still advice
    return this.rounds.filter((round) => round.changed).map((round) => ({ at: round.time_s, applied: acts && round.applied }));
  }

  // The rounds of the last seconds; all of them for 0.
  within(seconds) {
    if (!seconds || !this.last) return this.rounds;
    const from = this.last.time_s - seconds;
    return this.rounds.filter((round) => round.time_s >= from);
  }

  // Decisions with their effects, oldest first.
  async decisions(changesOnly) {
    if (this.kept) return changesOnly ? this.kept.changes : this.kept.all;
    return (await this.ask(decisionsPath(changesOnly))).decisions;
  }

  // Load the decisions before the server stops, and cancel other requests.
  async keep() {
    this.leaving.abort();
    const [changes, all] = await Promise.allSettled([get(decisionsPath(true)), get(decisionsPath(false))]);
    if (changes.value && all.value) this.kept = { changes: changes.value.decisions, all: all.value.decisions };
  }

  // An answer of the server. A server that stopped with its run is not asked: the browser would log each try as an error.
  async ask(path, signal) {
    const over = () => this.leaving.signal.aborted;
    try {
      if (!over()) return await get(path, AbortSignal.any([this.leaving.signal, signal].filter(Boolean)));
    } catch (error) {
      if (!over()) throw error instanceof TypeError ? new Error("The server does not answer; the data shown is old.") : error;
    }
    throw new Error(`The run and its page have ended; mead serve ${this.run.workload} shows it again.`);
  }
}

function decisionsPath(changesOnly) {
  return `/api/decisions?changes=${changesOnly ? 1 : 0}&limit=200`;
}

// An answer of the server, or an error with its message.
async function get(path, signal) {
  const response = await fetch(path, { signal });
  const answer = await response.json().catch(() => ({ error: `the server answers with ${response.status}` }));
  if (!response.ok) throw new Error(answer.error ?? `the server answers with ${response.status}`);
  return answer;
}
