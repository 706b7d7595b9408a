// What the page knows of the run: rounds from the server's events, kept as long as the server keeps them.

const KEPT = 3600;
const AGAIN_MS = 2000;

export class Feed extends EventTarget {
  constructor() {
    super();
    this.run = null;
    this.rounds = [];
    this.state = "connecting";
    this.silentSince = null;
    this.kept = null; // what was decided, once there will be no more of it
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
    // The server that has come back serves another run: nothing here is of that one.
    events.addEventListener("another-run", () => location.reload());
    events.addEventListener("finished", async (event) => {
      this.state = "finished";
      const { stays } = JSON.parse(event.data);
      // A server that goes with its run waits for those who listen: nothing can be asked of it later.
      if (!stays) await this.keep();
      events.close();
      this.tell("finished");
    });
    events.addEventListener("open", () => this.state === "connecting" || this.tell("live"));
    events.addEventListener("error", () => {
      if (this.state === "finished") { events.close(); return; }
      // A browser comes again by itself after a broken connection, and not after a refusal, as by a server that is full.
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

  // The paths that something is required of; all of them where nothing is.
  get asked() {
    const { pipeline, requirements } = this.run;
    return pipeline.paths.filter((path) => !requirements.length || requirements.some((r) => r.path === path));
  }

  // The part of the time axis that all charts show.
  span(seconds) {
    if (!this.last) return null;
    const first = this.rounds[0].time_s;
    return [seconds ? Math.max(first, this.last.time_s - seconds) : first, Math.max(this.last.time_s, first + 1)];
  }

  // When something was changed, or only planned: the marks of all charts.
  marks() {
    const acts = this.run.mode === "act"; // advice to go back to what is in force is advice, too
    return this.rounds.filter((round) => round.changed).map((round) => ({ at: round.time_s, applied: acts && round.applied }));
  }

  // The rounds of the last so many seconds; all of them for 0.
  within(seconds) {
    if (!seconds || !this.last) return this.rounds;
    const from = this.last.time_s - seconds;
    return this.rounds.filter((round) => round.time_s >= from);
  }

  // What was decided, oldest first, with what came of it.
  async decisions(changesOnly) {
    if (this.kept) return changesOnly ? this.kept.changes : this.kept.all;
    return (await this.ask(decided(changesOnly))).decisions;
  }

  // Take along what the views may want to know of the run; what is being asked besides is given up.
  async keep() {
    this.leaving.abort();
    const [changes, all] = await Promise.allSettled([get(decided(true)), get(decided(false))]);
    if (changes.value && all.value) this.kept = { changes: changes.value.decisions, all: all.value.decisions };
  }

  // What the server says. One that has gone with its run is not asked: the browser would note each try as a fault.
  async ask(path, signal) {
    const over = () => this.leaving.signal.aborted;
    try {
      if (!over()) return await get(path, AbortSignal.any([this.leaving.signal, signal].filter(Boolean)));
    } catch (error) {
      if (!over()) throw error instanceof TypeError ? new Error("The server does not answer; what is shown is from before.") : error;
    }
    throw new Error(`The run is over, and its page with it; mead serve ${this.run.workload} shows it again.`);
  }
}

function decided(changesOnly) {
  return `/api/decisions?changes=${changesOnly ? 1 : 0}&limit=200`;
}

// An answer of the server, or an error that says in its words what is wrong.
async function get(path, signal) {
  const response = await fetch(path, { signal });
  const answer = await response.json().catch(() => ({ error: `the server answers with ${response.status}` }));
  if (!response.ok) throw new Error(answer.error ?? `the server answers with ${response.status}`);
  return answer;
}
