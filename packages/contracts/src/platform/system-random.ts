import { randomFillSync } from 'node:crypto'
import type { Random } from '../random.ts'

const POOL_BYTES = 4096

/** Takes its bytes from the operating system in portions: a call for each identity costs twenty times as much. */
class PooledRandom implements Random {
  readonly #pool = Buffer.alloc(POOL_BYTES)
  #used: number = POOL_BYTES

  fraction(): number {
    return Math.random()
  }

  hex(bytes: number): string {
    if (bytes > POOL_BYTES) return randomFillSync(Buffer.alloc(bytes)).toString('hex')
    if (this.#used + bytes > POOL_BYTES) {
      randomFillSync(this.#pool)
      this.#used = 0
    }
    const from = this.#used
    this.#used += bytes
    const text = this.#pool.toString('hex', from, this.#used)
    // Nobody who looks at memory later finds a token.
    this.#pool.fill(0, from, this.#used)
    return text
  }
}

/** Randomness from the operating system. */
export const systemRandom: Random = new PooledRandom()
