import { errorCode } from '@tidemark/contracts'

const MAX_ATTEMPTS = 10

/** Asks again when ranges split or merge while something is asked of them. */
export async function whileRangesChange<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let count = 1; ; count += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (errorCode(error) !== 'ERR_RANGE_GONE' || count >= MAX_ATTEMPTS) throw error
    }
  }
}
