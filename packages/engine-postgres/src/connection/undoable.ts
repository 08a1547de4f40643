/**
 * For a transaction that may end with a result and no effect: `undo` ends it by an error, so that it is rolled back, and
 * the call resolves with its argument nevertheless.
 */
export async function undoable<Result>(
  transact: (undo: (result: Result) => never) => Promise<Result>,
): Promise<Result> {
  let undone: { readonly result: Result; readonly error: Error } | undefined
  try {
    return await transact((result) => {
      const error = new Error('the transaction is undone')
      undone = { result, error }
      throw error
    })
  } catch (error) {
    // An earlier attempt may have been undone, whose connection was lost then.
    if (undone !== undefined && undone.error === error) return undone.result
    throw error
  }
}
