import type { SeededRandom } from '../time/seeded-random.ts'
import type { SimulatedProcess } from '../time/simulated-process.ts'
import type { VirtualTime } from '../time/virtual-time.ts'

/** What may become of a message, with probabilities from 0 to 1. */
export interface Disturbance {
  /** It never arrives, and nobody is told. */
  readonly lost?: number
  /** It does not arrive, and the sender is told so: a connection refused, or reset. */
  readonly refused?: number
  /** It arrives twice, at two times. */
  readonly doubled?: number
  /** It takes up to so much longer: whatever is sent meanwhile may overtake it. */
  readonly delayMs?: number
}

interface Until {
  readonly disturbance: Disturbance
  readonly endMs: number
}

const CALM: Disturbance = {}

/** One way between a process and a server. */
export class Direction {
  readonly #time: VirtualTime
  readonly #random: SeededRandom
  #present: readonly Until[] = []

  constructor(time: VirtualTime, random: SeededRandom) {
    this.#time = time
    this.#random = random
  }

  disturb(disturbance: Disturbance, forMs: number): void {
    this.#present = [...this.#present, { disturbance, endMs: this.#time.nowMs + forMs }]
  }

  heal(): void {
    this.#present = []
  }

  /** The strongest of what is the matter at present. */
  #now(): Disturbance {
    if (this.#present.length === 0) return CALM
    this.#present = this.#present.filter(({ endMs }) => endMs > this.#time.nowMs)
    return this.#present.reduce<Disturbance>(
      (sum, { disturbance }) => ({
        lost: Math.max(sum.lost ?? 0, disturbance.lost ?? 0),
        refused: Math.max(sum.refused ?? 0, disturbance.refused ?? 0),
        doubled: Math.max(sum.doubled ?? 0, disturbance.doubled ?? 0),
        delayMs: Math.max(sum.delayMs ?? 0, disturbance.delayMs ?? 0),
      }),
      CALM,
    )
  }

  /** Sends a message: calls `arrive` later, once, twice or never, or `refuse`. */
  send(arrive: () => void, refuse: () => void): void {
    const { lost = 0, refused = 0, doubled = 0, delayMs = 0 } = this.#now()
    const random = this.#random
    if (refused > 0 && random.chance(refused)) this.#time.after(random.fraction(), refuse)
    else if (lost > 0 && random.chance(lost)) return
    else this.#time.after(this.#latencyMs(delayMs), arrive)
    if (doubled > 0 && random.chance(doubled)) {
      this.#time.after(this.#latencyMs(delayMs), arrive)
    }
  }

  #latencyMs(delayMs: number): number {
    const own = this.#random.fraction()
    return 0.2 + 3 * own * own + (delayMs > 0 ? this.#random.fraction() * delayMs : 0)
  }
}

/** Where requests arrive. */
export interface SimulatedServer {
  /** Runs `execute` when the server gets to it. */
  admit(execute: () => void): void
}

export interface NetworkLinkOptions {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly process: SimulatedProcess
  readonly server: SimulatedServer
  /** The error of a call that failed on its way. */
  readonly unavailable: (message: string) => Error
}

/** How one process reaches one server: requests there, replies and hints back. */
export class NetworkLink {
  readonly request: Direction
  readonly reply: Direction
  readonly hints: Direction
  readonly #options: NetworkLinkOptions

  constructor(options: NetworkLinkOptions) {
    const { time, random } = options
    this.#options = options
    this.request = new Direction(time, random)
    this.reply = new Direction(time, random)
    this.hints = new Direction(time, random)
  }

  heal(): void {
    this.request.heal()
    this.reply.heal()
    this.hints.heal()
  }

  /** Has `execute` done by the server. A call whose request or reply is lost never settles. */
  call<R>(operation: string, execute: () => Promise<R>): Promise<R> {
    const { process, server, unavailable } = this.#options
    return new Promise((resolve, reject) => {
      const fail = (why: string): void =>
        process.enter(() => reject(unavailable(`${operation}: ${why}`)))
      const answer = (settle: () => void): void =>
        this.reply.send(
          () => process.enter(settle),
          () => fail('connection reset'),
        )
      const arrive = (): void =>
        server.admit(() => {
          execute().then(
            (result) => answer(() => resolve(result)),
            (error: unknown) => answer(() => reject(error)),
          )
        })
      this.request.send(arrive, () => fail('connection refused'))
    })
  }

  /** A message that nobody waits for. */
  hint(deliver: () => void): void {
    this.hints.send(
      () => this.#options.process.enter(deliver),
      () => {},
    )
  }
}
