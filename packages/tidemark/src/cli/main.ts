#!/usr/bin/env node
import { keepCompiledCode } from './compile-cache.ts'

// Load the other modules only now, so that they are cached.
keepCompiledCode(process.env)
const { assertSupportedNode } = await import('@tidemark/contracts/internal')
const { errorLine } = await import('./output/report-error.ts')
const { EXIT } = await import('./exit-codes.ts')
try {
  assertSupportedNode()
} catch (error) {
  // Load nothing else: the errors of an older Node would not help.
  console.error(errorLine(error))
  process.exit(EXIT.failure)
}
const { hideSqliteWarning } = await import('./hide-sqlite-warning.ts')
const { processContext } = await import('./command-context.ts')
const { runCommand } = await import('./run-command.ts')

hideSqliteWarning()
// A reader that goes away, as in `tidemark tail … | head`, is not a failure.
process.stdout.on('error', () => {})
process.exitCode = await runCommand(process.argv.slice(2), processContext())
