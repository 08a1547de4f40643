import { globSync, statSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { InlineConfig } from 'vite'

// `npm run dashboard`: builds the page that `tidemark dev`, `serve --ui` and `ui` show, unless it is newer than its sources.

const FOLDER = fileURLToPath(new URL('../packages/tidemark/dashboard/', import.meta.url))
/** Where the command and the package have the page. */
export const DASHBOARD_FOLDER = join(FOLDER, 'dist')
const SOURCES = ['index.html', 'public/**', 'src/**']

const CONFIG: InlineConfig = {
  configFile: false,
  root: FOLDER,
  logLevel: 'warn',
  // Relative paths: the page works below any path that it is mounted at.
  base: './',
  build: {
    // What `light-dark()` needs anyway.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    // One script and one style sheet of our own origin, as the Content-Security-Policy wants it.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: false } },
  },
}

/** Returns false if there was nothing to build. Calls of several processes at once do no harm. */
export async function buildDashboard(): Promise<boolean> {
  const builtMs = modifiedMs(join(DASHBOARD_FOLDER, 'index.html'))
  const sources = globSync(SOURCES, { cwd: FOLDER, exclude: ['**/*.test.ts'] })
  if (sources.every((file) => modifiedMs(join(FOLDER, file)) < builtMs)) return false
  const { build } = await import('vite')
  // Built aside, so that nobody reads a page that is half there.
  const made = join(FOLDER, `dist-${process.pid}`)
  const environment = process.env['NODE_ENV']
  try {
    // In a test it is another one, by which Vite would build for development.
    process.env['NODE_ENV'] = 'production'
    await build({ ...CONFIG, build: { ...CONFIG.build, outDir: made } })
    await rm(DASHBOARD_FOLDER, { recursive: true, force: true })
    await rename(made, DASHBOARD_FOLDER)
  } catch (error) {
    // Another process was first; its page is of the same sources.
    if (modifiedMs(join(DASHBOARD_FOLDER, 'index.html')) <= builtMs) throw error
  } finally {
    if (environment === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = environment
    await rm(made, { recursive: true, force: true })
  }
  return true
}

function modifiedMs(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

if (import.meta.main) {
  if (await buildDashboard()) console.error('built the page in packages/tidemark/dashboard/dist')
}
