/** One worker's turn at a range: each change of owner has a higher epoch. */
export interface Turn {
  readonly leaseId: string
  readonly epoch: number
  readonly worker: string
}

/** Collects who owned which range, from whoever saw it, each turn once. */
export class Takeovers {
  readonly #turns = new Map<string, Turn>()
  readonly #cutShort: Turn[] = []

  saw(turn: Turn): void {
    this.#turns.set(`${turn.leaseId} ${turn.epoch}`, turn)
  }

  /** The worker is killed or told to leave while it has this range. */
  cutShort(turn: Turn): void {
    this.saw(turn)
    this.#cutShort.push(turn)
  }

  /**
   * How many ranges other workers took up because their owner was killed or told to leave. Moves between
   * workers that stay are not takeovers.
   */
  get count(): number {
    const turns = [...this.#turns.values()]
    return this.#cutShort.filter(({ leaseId, epoch, worker }) =>
      turns.some(
        (turn) => turn.leaseId === leaseId && turn.epoch > epoch && turn.worker !== worker,
      ),
    ).length
  }
}
