import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take long: one that begins last is waited for while the other core is idle. */
const SLOW =
  /tests\/(?:gateway-client|simulation|interop|interop-amqp)\/|cli\/|scripts\/|conformance\/|engine-sqlite\/src\/[^/]*memory/

/** The order of test files: the slow ones first, else vitest's own. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId }: TestSpecification): number => (SLOW.test(moduleId) ? 0 : 1)
    return sorted.sort((a, b) => rank(a) - rank(b))
  }
}
