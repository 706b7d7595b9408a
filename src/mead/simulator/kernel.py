"""The event kernel: from one event to the next, for every operator, loop and kind of server alike.

There are three kinds of event: a tuple arrives at the source, a service ends, a batch starts. At equal times a batch
starts last, so that it takes every tuple that arrives at that moment; a batch upstream hands over all its tuples at
once. Where every replica has a queue of its own, each is an operator of one server, and the operator that it belongs to
does nothing but choose among them. Everything between two events follows from the records of
``mead.simulator.records``, which hold nothing but what has happened. So a run can stop anywhere and go on later, and is
the same.
"""

# ruff: noqa: FURB136, PLR1730 - min and max take longer to compile than a comparison
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from math import ceil, floor, inf

from numba import njit

inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[call-overload]  # not in its stubs
"""Compiled as a part of ``run`` only: nothing is cached or made callable from Python on its own, which costs time."""

SHUFFLE, LEAST_UTILISED, WEIGHTED_RANDOM, ROUND_ROBIN = 1, 2, 3, 4
"""Kinds of grouping. What they do stands in this file, because the cache of compiled code looks at no other."""

FULL = 1 - 1e-9


@njit(cache=True, error_model="numpy")
def run(  # noqa: C901, PLR0912 # pragma: no cover - compiled; its inner loop as a function of its own costs a third of the speed
    until_s,
    fanout,
    clocks,
    operators,
    services,
    edges,
    ways,
    paths,
    pool,
    arrivals_s,
    demands,
    coins,
    groups,
    dice,
    log,
    judged,
    alive,
    took_s,
):
    """Do every event up to and at ``until_s``. The last of the operators is the source.

    A tuple carries the number of its input times that of all trails, plus its trail. An input is done when none of its
    tuples on judged trails is alive.

    False means that there is no room for one more event of up to ``fanout`` new tuples: make room and call again.
    """
    clock = clocks[0]
    source, trails = operators.size - 1, len(paths)
    for place in range(source):
        serve_waiting(clock, operators[place], services[place], pool)  # where servers were added
    while clock.short == 0 and clock.room >= fanout and clock.departed < log.size:
        chosen = next_event(operators)
        operator = operators[chosen]
        if operator.next_s > until_s or operator.next_s == inf:
            return True
        clock.now_s = operator.next_s
        if operator.starting > 0:
            start_batch(clock, operator, services[chosen], pool)
            continue
        if chosen == source:
            arrival_s, trail, root = clock.now_s, trails - 1, operator.arrived
            leave_source(operator, arrivals_s)
            if clock.now_s < clock.down_until_s:
                clock.lost += 1
                continue
        elif operator.batched > 0:
            arrival_s, root = pool[operator.head].arrival_s, pool[operator.head].trail // trails
            trail = pool[operator.head].trail - root * trails
            alive[root] -= judged[trail]
            leave_batch(clock, operator, services[chosen], pool)
        else:
            done = services[chosen, operator.in_service - 1]
            arrival_s, root = done.arrival_s, done.trail // trails
            trail = done.trail - root * trails
            alive[root] -= judged[trail]
            leave_server(clock, operator, services[chosen], pool)
        children = 0
        for number in range(operator.first_edge, operator.end_edge):
            edge = edges[number]
            way = ways[trail, number - operator.first_edge]
            for _ in range(copies_of(clock, edge, coins[number])):
                place = edge.target
                demand_s = demand_of(clock, operators[place], demands[place], fanout)
                if groups[place].kind > 0:
                    place = replica_for(clock, groups[place], place, operators, services, dice[place], fanout)
                arrive(clock, operators[place], services[place], demand_s, pool, arrival_s, root * trails + way)
                alive[root] += judged[way]
                children += 1
        if children > 0:
            clock.copied += children - 1
        else:
            end(clock, operator, arrival_s, paths[trail], log)
        if alive[root] == 0 and judged[trail] > 0:
            took_s[root] = clock.now_s - arrival_s
            clock.inputs += 1
            clock.input_sum_s += took_s[root]
    return False


@inner
def next_event(operators):  # pragma: no cover - compiled
    """The operator, or the source, with the next event.

    A batch starts after all other events of its time.
    """
    chosen = operators.size - 1
    for place in range(operators.size - 1):
        ahead_s = operators[place].next_s - operators[chosen].next_s
        if ahead_s < 0 or (ahead_s == 0 and operators[place].starting < operators[chosen].starting):
            chosen = place
    return chosen


@inner
def leave_source(source, arrivals_s):  # pragma: no cover - compiled
    """A tuple has arrived; what happens there next is the arrival of another one."""
    source.arrived += 1
    source.next_s = arrivals_s[source.arrived] if source.arrived < arrivals_s.size else inf


@inner
def copies_of(clock, edge, coins):  # pragma: no cover - compiled
    """Number of tuples that a served tuple sends along an edge."""
    copies = edge.whole
    if edge.chance > 0:
        if coins[edge.drawn] < edge.chance:
            copies += 1
        edge.drawn += 1
        if edge.drawn == edge.draws:
            clock.short = 1
    edge.sent += copies
    return copies


@inner
def end(clock, operator, arrival_s, path, log):  # pragma: no cover - compiled
    """A tuple goes no further: it has departed from its path, or a filter took it."""
    if operator.sink > 0:
        departure = log[clock.departed]
        departure.arrival_s = arrival_s
        departure.response_s = clock.now_s - arrival_s
        departure.path = path
        clock.departed += 1
    else:
        clock.filtered += 1


@inner
def demand_of(clock, operator, demands, fanout):  # pragma: no cover - compiled
    """The demand of the next tuple at an operator, whichever replica it goes to."""
    demand_s = demands[operator.drawn]
    operator.drawn += 1
    if operator.drawn + fanout > operator.draws:
        clock.short = 1
    return demand_s


@inner
def replica_for(clock, group, place, operators, services, dice, fanout):  # pragma: no cover - compiled
    """The record of the replica that gets the next tuple; see ``Grouping``."""
    operator = operators[place]
    count_arrival(clock, operator)
    first, end = group.first, group.first + operator.servers
    if group.kind == ROUND_ROBIN:
        return in_turn(group, first, end)
    if group.kind == LEAST_UTILISED:
        look_at(clock, group, operators, services)
        return least_utilised(group, operators, first, end)
    drawn = dice[group.drawn]
    group.drawn += 1
    if group.drawn + fanout > group.draws:
        clock.short = 1
    if group.kind == SHUFFLE:
        return first + int(drawn * operator.servers)
    look_at(clock, group, operators, services)
    left = 0.0
    for replica in range(first, end):
        left += weight_of(operators[replica])
    left *= drawn
    for replica in range(first, end - 1):
        left -= weight_of(operators[replica])
        if left < 0:
            return replica
    return end - 1


@inner
def weight_of(replica):  # pragma: no cover - compiled
    """From 1 for one that was busy all the time to 101 for one that was idle, as in the authors' program."""
    return 101.0 - floor(100.0 * replica.load)


@inner
def least_utilised(group, operators, first, end):  # pragma: no cover - compiled
    """Algorithm 1 of PA-SPS: the least loaded replica gets the tuple.

    If all are full, replicas take turns.

    There are at most a few dozen replicas in a row of memory: to look at each is faster than to keep a heap.
    """
    chosen = first
    for replica in range(first + 1, end):
        if operators[replica].load < operators[chosen].load:
            chosen = replica
    if operators[chosen].load >= FULL:
        return in_turn(group, first, end)
    load = operators[chosen].load + operators[chosen].step
    operators[chosen].load = load if load < 1.0 else 1.0
    return chosen


@inner
def in_turn(group, first, end):  # pragma: no cover - compiled
    """The replica after the one that was chosen last."""
    group.turn += 1
    return first + (group.turn - 1) % (end - first)


@inner
def look_at(clock, group, operators, services):  # pragma: no cover - compiled
    """Measure all replicas again once an interval is over.

    Equation 1 of PA-SPS, with the execution times of each replica.
    """
    elapsed_s = clock.now_s - group.looked_s
    if elapsed_s < group.interval_s:
        return
    group.looked_s = clock.now_s
    for number in range(group.replicas):
        replica = operators[group.first + number]
        worked_s = replica.worked_s
        if replica.in_service > 0 and replica.share > 0:
            worked_s += clock.now_s - services[group.first + number, 0].since_s
        busy_s = worked_s - replica.seen_worked_s
        load = busy_s / elapsed_s
        replica.load = load if load < 1.0 else 1.0
        if replica.completed > replica.seen_completed:
            replica.step = busy_s / (replica.completed - replica.seen_completed) / group.interval_s
        replica.seen_worked_s = worked_s
        replica.seen_completed = replica.completed


@inner
def count_arrival(clock, operator):  # pragma: no cover - compiled
    """One more; of every so many, one is recorded with the time since the one before it."""
    operator.arrived += 1
    if operator.arrived % operator.recorded_every == 0 and operator.arrived > 1:
        iat_s = clock.now_s - operator.last_arrival_s
        operator.iats += 1
        operator.iat_sum_s += iat_s
        operator.iat_squares_s2 += iat_s * iat_s
    operator.last_arrival_s = clock.now_s


@inner
def arrive(clock, operator, services, demand_s, pool, arrival_s, trail):  # pragma: no cover - compiled
    """A tuple reaches an operator: into service if a server is free, into the queue if not.

    A full queue takes none, and a server takes none that has timed out: the tuple goes no further.
    """
    count_arrival(clock, operator)
    if operator.batched == 0 and operator.in_service < operator.servers:
        if clock.now_s - arrival_s < clock.timeout_s:
            serve(clock, operator, services, demand_s, arrival_s, trail)
        else:
            clock.timed_out += 1
        return
    if operator.waiting >= clock.queue_size:
        clock.rejected += 1
        return
    place = clock.free
    last = pool[place]
    clock.free = last.behind
    clock.room -= 1
    last.demand_s = demand_s
    last.arrival_s = arrival_s
    last.trail = trail
    if operator.queued == 0:
        operator.head = place
    else:
        pool[operator.tail].behind = place
    operator.tail = place
    operator.queued += 1
    operator.waiting += 1
    if operator.batched > 0 and operator.in_service == 0 and operator.starting == 0:
        plan_batch(clock, operator)


@inner
def serve(clock, operator, services, demand_s, arrival_s, trail):  # pragma: no cover - compiled
    """Put a tuple on a free server; services stay in order, the one that ends first last."""
    service_s = demand_s / operator.speed
    stands = operator.share == 0.0  # in a restart, which no service time describes
    if not stands and (operator.completed + operator.in_service + 1) % operator.recorded_every == 0:
        operator.services += 1
        operator.service_sum_s += service_s
        operator.service_squares_s2 += service_s * service_s
    end_s = clock.now_s + service_s
    place = operator.in_service
    while place > 0 and services[place - 1].end_s < end_s:
        services[place] = services[place - 1]
        place -= 1
    service = services[place]
    service.end_s = end_s
    service.since_s = clock.now_s
    service.arrival_s = arrival_s
    service.trail = trail
    operator.in_service += 1
    operator.next_s = services[operator.in_service - 1].end_s


@inner
def serve_waiting(clock, operator, services, pool):  # pragma: no cover - compiled
    """Every free server takes the tuple that has waited longest, and drops those that have timed out."""
    while operator.batched == 0 and operator.waiting > 0 and operator.in_service < operator.servers:
        first = pool[operator.head]
        operator.waiting -= 1
        leave_queue(clock, operator, pool)
        if clock.now_s - first.arrival_s < clock.timeout_s:
            serve(clock, operator, services, first.demand_s, first.arrival_s, first.trail)
        else:
            clock.timed_out += 1


@inner
def leave_queue(clock, operator, pool):  # pragma: no cover - compiled
    """The place of the first tuple in the queue is free."""
    place = operator.head
    operator.head = pool[place].behind
    operator.queued -= 1
    pool[place].behind = clock.free
    clock.free = place
    clock.room += 1


@inner
def leave_server(clock, operator, services, pool):  # pragma: no cover - compiled
    """End the service that finishes first.

    Its server takes the next tuple, unless it is to be removed.
    """
    operator.in_service -= 1
    operator.completed += 1
    worked_s = clock.now_s - services[operator.in_service].since_s
    operator.worked_s += worked_s
    operator.cpu_s += operator.share * worked_s
    operator.next_s = services[operator.in_service - 1].end_s if operator.in_service > 0 else inf
    serve_waiting(clock, operator, services, pool)


@inner
def leave_batch(clock, operator, services, pool):  # pragma: no cover - compiled
    """The first tuple of a batch that is done leaves; after the last one, the next batch is planned."""
    leave_queue(clock, operator, pool)
    operator.in_service -= 1
    operator.completed += 1
    if operator.in_service == 0:
        operator.ended_s = clock.now_s
        operator.cpu_s += operator.share * operator.busy_tasks * (clock.now_s - services[0].since_s)
        operator.next_s = inf
        if operator.waiting > 0:
            plan_batch(clock, operator)


@inner
def plan_batch(clock, operator):  # pragma: no cover - compiled
    """When the next batch starts, now that something waits for it: see ``BatchServer`` for the rules."""
    start_s = operator.ended_s
    if operator.trigger_s > 0:
        tick = floor(operator.started_s / operator.trigger_s) + 1
        if tick * operator.trigger_s <= operator.started_s:  # 0.3 / 0.1 rounds down
            tick += 1
        if start_s < tick * operator.trigger_s:
            start_s = tick * operator.trigger_s
        if start_s < clock.now_s:
            start_s = ceil(clock.now_s / operator.trigger_s) * operator.trigger_s
    operator.next_s = start_s if start_s > clock.now_s else clock.now_s
    operator.starting = 1


@inner
def start_batch(clock, operator, services, pool):  # pragma: no cover - compiled
    """Start a micro-batch of the waiting tuples.

    Task j of k takes the tuples j, j + k, j + 2k ...; the batch lasts as long as its longest task.
    """
    size = operator.waiting if operator.waiting < operator.max_tuples else operator.max_tuples
    tasks = size if size < operator.servers else operator.servers
    for place in range(tasks):
        services[place].end_s = 0.0
    work_s, longest_s = 0.0, 0.0
    place = operator.head
    for position in range(size):
        task = services[position % tasks]
        task.end_s += pool[place].demand_s
        if longest_s < task.end_s:
            longest_s = task.end_s
        work_s += pool[place].demand_s
        place = pool[place].behind
    operator.waiting -= size
    operator.in_service = size
    operator.starting = 0
    operator.started_s = clock.now_s
    operator.busy_tasks = work_s / longest_s
    services[0].since_s = clock.now_s + operator.overhead_s
    services[0].end_s = services[0].since_s + longest_s / operator.speed
    operator.next_s = services[0].end_s
