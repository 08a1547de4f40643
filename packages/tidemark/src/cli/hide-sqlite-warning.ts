/** Keeps one line off the error output: Node 22 warns of its own SQLite. Every other warning is printed as before. */
export function hideSqliteWarning(): void {
  const printers = process.listeners('warning')
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    if (warning.name === 'ExperimentalWarning' && warning.message.startsWith('SQLite ')) return
    for (const print of printers) print(warning)
  })
}
