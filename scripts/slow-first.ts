import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take long, the longest first: one that begins last is waited for while the other core is idle. */
const SLOW = [
  /packages\/engine-[a-z]+\/src\/[a-z]+-engine\./,
  /tests\/model\//,
  /tests\/(?:crash|faults)\//,
  /packages\/engine-[a-z]+\/src\/collection-on-/,
  /tests\/|examples\/|\.(?:postgres|redis)\.test\.ts$/,
]

/** The order of test files: of the slow ones first, else vitest's own. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId, project }: TestSpecification): number => {
      const found = SLOW.findIndex((pattern) => pattern.test(moduleId))
      // A worker whose next file is alone is no longer shared: so these come first.
      const shared = project.config.isolate ? 0 : SLOW.length + 1
      return shared + (found < 0 ? SLOW.length : found)
    }
    return sorted.sort((a, b) => rank(a) - rank(b))
  }
}
