const gone = (): void => process.exit(1)

/** Ends this process when the one that started it is gone. */
export function endWithParent(): void {
  process.on('disconnect', gone)
}

/** Tells the parent the last thing, and lets this process end by itself. */
export async function tellLast(message: object): Promise<void> {
  process.off('disconnect', gone)
  await new Promise((resolve) => process.send?.(message, resolve))
  process.disconnect()
}
