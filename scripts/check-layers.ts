import { importCycleViolations } from './layers/import-cycles.ts'
import { importViolations, type Violation } from './layers/import-rules.ts'
import { manifestViolations } from './layers/manifest-rules.ts'
import { readWorkspace } from './layers/read-workspace.ts'
import { ROOT } from './repository.ts'

/** Everything in the repository at `root` that goes against the arrows between packages, one line each. */
export function findLayerViolations(root: string): Violation[] {
  const workspace = readWorkspace(root)
  return [
    ...manifestViolations(workspace),
    ...importViolations(workspace),
    ...importCycleViolations(workspace),
  ]
}

if (import.meta.main) {
  const root = process.argv[2] ?? ROOT
  const violations = findLayerViolations(root)
  for (const violation of violations) console.error(violation)
  if (violations.length > 0) {
    console.error(`layers: ${violations.length} violations`)
    process.exitCode = 1
  } else {
    console.log('layers: no violation')
  }
}
