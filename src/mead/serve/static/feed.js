// What the page knows of the run: rounds from the server's events, kept as long as the server keeps them.

const KEPT = 3600;
const AGAIN_MS = 2000;

export class Feed extends EventTarget {
  constructor() {
    super();
    this.run = null;
    this.rounds = [];
    this.state = "connecting";
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
    // The server that has come back serves another run: nothing here is of that one.
    events.addEventListener("another-run", () => location.reload());
    events.addEventListener("finished", () => {
      events.close();
      this.tell("finished");
    });
    events.addEventListener("open", () => this.state === "connecting" || this.tell("live"));
    events.addEventListener("error", () => {
      if (this.state === "finished") return;
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

  // When something was changed: the marks of all charts.
  marks() {
    return this.rounds.filter((round) => round.changed && round.applied).map((round) => round.time_s);
  }

  // The rounds of the last so many seconds; all of them for 0.
  within(seconds) {
    if (!seconds || !this.last) return this.rounds;
    const from = this.last.time_s - seconds;
    return this.rounds.filter((round) => round.time_s >= from);
  }

  // What was decided, oldest first, with what came of it.
  async decisions(changesOnly) {
    return (await get(`/api/decisions?changes=${changesOnly ? 1 : 0}&limit=200`)).decisions;
  }
}

// An answer of the server, or an error that says in its words what is wrong.
export async function get(path, signal) {
  const response = await fetch(path, { signal });
  const answer = await response.json().catch(() => ({ error: `the server answers with ${response.status}` }));
  if (!response.ok) throw new Error(answer.error ?? `the server answers with ${response.status}`);
  return answer;
}
