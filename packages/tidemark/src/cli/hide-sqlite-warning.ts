/** Removes one line from the error output: Node 22 warns about its own SQLite. All other warnings are printed. */
export function hideSqliteWarning(): void {
  const printers = process.listeners('warning')
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    if (warning.name === 'ExperimentalWarning' && warning.message.startsWith('SQLite ')) return
    for (const print of printers) print(warning)
  })
}
