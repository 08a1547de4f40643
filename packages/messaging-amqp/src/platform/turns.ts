/** After what was said in this turn has gone to the socket. */
export function afterTurn(act: () => void): void {
  setImmediate(act)
}

/** In this turn, after what runs now. */
export function endOfTurn(act: () => void): void {
  process.nextTick(act)
}
