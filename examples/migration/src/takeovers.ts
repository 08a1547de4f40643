/** One worker's turn at a range: each change of owner has a higher epoch. */
export interface Turn {
  readonly leaseId: string
  readonly epoch: number
  readonly worker: string
}

/** Collects who owned which range, from whoever saw it, each turn once. */
export class Takeovers {
  readonly #turns = new Map<string, Turn>()

  saw(turn: Turn): void {
    this.#turns.set(`${turn.leaseId} ${turn.epoch}`, turn)
  }

  /**
   * How often a worker took up a range whose owner before was one of the `departed`: killed, or told to
   * leave. Moves between workers that stay are not takeovers.
   */
  count(departed: ReadonlySet<string>): number {
    let takeovers = 0
    for (const turns of Map.groupBy(this.#turns.values(), ({ leaseId }) => leaseId).values()) {
      const inOrder = turns.sort((a, b) => a.epoch - b.epoch)
      for (const [index, { worker }] of inOrder.entries()) {
        const before = inOrder[index - 1]?.worker
        if (before !== undefined && before !== worker && departed.has(before)) takeovers += 1
      }
    }
    return takeovers
  }
}
