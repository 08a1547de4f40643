import { errorCode } from '@tidemark/contracts'

/** Does something that may be done twice, again and again while it fails with one of `codes`. */
export async function untilDone(
  codes: readonly string[],
  act: () => Promise<unknown>,
): Promise<void> {
  for (;;) {
    try {
      await act()
      return
    } catch (error) {
      if (!codes.includes(errorCode(error) ?? '')) throw error
    }
  }
}
