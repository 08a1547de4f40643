import { fileURLToPath } from 'node:url'

/** What follows `node` to run the command: its sources, or what `npm test` has bundled, which starts in a third of the time. */
export const COMMAND: readonly string[] =
  process.env['TIDEMARK_TEST_BUNDLED'] === '1'
    ? [fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))]
    : ['--conditions=@tidemark/source', fileURLToPath(new URL('main.ts', import.meta.url))]
