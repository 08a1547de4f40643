#!/usr/bin/env node
import { keepCompiledCode } from './compile-cache.ts'

// The other modules only now, so that they are kept.
keepCompiledCode(process.env)
const { assertSupportedNode } = await import('@tidemark/contracts')
const { errorLine } = await import('./output/report-error.ts')
const { EXIT } = await import('./exit-codes.ts')
try {
  assertSupportedNode()
} catch (error) {
  // Nothing else is loaded: what an older Node says of that helps nobody.
  console.error(errorLine(error))
  process.exit(EXIT.failure)
}
const { hideSqliteWarning } = await import('./hide-sqlite-warning.ts')
const { processContext } = await import('./command-context.ts')
const { runCommand } = await import('./run-command.ts')

hideSqliteWarning()
// A reader that goes away, as in `tidemark tail … | head`, is no failure.
process.stdout.on('error', () => {})
process.exitCode = await runCommand(process.argv.slice(2), processContext())
