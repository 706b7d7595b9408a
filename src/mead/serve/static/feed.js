// What the page knows of the run: rounds from the server's events, kept as long as the server keeps them.

const KEPT = 3600;

export class Feed extends EventTarget {
  constructor() {
    super();
    this.run = null;
    this.rounds = [];
    this.state = "connecting";
  }

  async start() {
    this.run = await get("/api/run");
    this.requirements = this.run.requirements;
    this.connect();
  }

  connect() {
    const events = new EventSource("/events");
    events.addEventListener("rounds", (event) => {
      const { rounds, requirements } = JSON.parse(event.data);
      this.rounds.push(...rounds);
      this.requirements = requirements;
      if (this.rounds.length > KEPT) this.rounds.splice(0, this.rounds.length - KEPT);
      this.tell("live");
    });
    events.addEventListener("finished", () => {
      events.close();
      this.tell("finished");
    });
    events.addEventListener("open", () => this.state === "connecting" || this.tell("live"));
    events.addEventListener("error", () => this.state === "finished" || this.tell("lost"));
  }

  tell(state) {
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }

  get last() {
    return this.rounds.at(-1);
  }

  // The part of the time axis that all charts show.
  span(seconds) {
    if (!this.last) return null;
    const first = this.rounds[0].time_s;
    return [seconds ? Math.max(first, this.last.time_s - seconds) : first, Math.max(this.last.time_s, first + 1)];
  }

  // When something was changed: the marks of all charts.
  changes() {
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
