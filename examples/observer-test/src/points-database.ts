/** One row per customer: what a relational database would hold. It is outside of the workers, and outlives them. */
export class PointsDatabase {
  readonly #rows = new Map<string, { points: number; lsn: number }>()

  points(customer: string): number {
    return this.#row(customer).points
  }

  /** LSN of the newest order that is in the points. */
  lsn(customer: string): number {
    return this.#row(customer).lsn
  }

  addPoints(customer: string, points: number): void {
    this.#row(customer).points += points
  }

  setLsn(customer: string, lsn: number): void {
    this.#row(customer).lsn = lsn
  }

  #row(customer: string): { points: number; lsn: number } {
    const row = this.#rows.get(customer) ?? { points: 0, lsn: 0 }
    this.#rows.set(customer, row)
    return row
  }
}
