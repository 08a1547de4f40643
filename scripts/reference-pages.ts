import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandsPage } from './reference/commands-page.ts'
import { eventsPage } from './reference/events-page.ts'
import { metricsPage } from './reference/metrics-page.ts'
import { optionsPage } from './reference/options-page.ts'
import { PublishedApi } from './reference/read-entries.ts'
import { ROOT } from './repository.ts'

/** The pages of `docs/reference`, by path. */
export function referencePages(root: string = ROOT): ReadonlyMap<string, string> {
  const api = new PublishedApi(root)
  return new Map([
    ['docs/reference/options.md', optionsPage(api)],
    ['docs/reference/events.md', eventsPage(api)],
    ['docs/reference/metrics.md', metricsPage()],
    ['docs/reference/commands.md', commandsPage(root)],
  ])
}

/** Pages that are not what the sources say. */
export function stalePages(pages: ReadonlyMap<string, string>): readonly string[] {
  return [...pages].flatMap(([path, text]) =>
    readPage(path) === text ? [] : [`${path} is not what the sources say: npm run reference`],
  )
}

function readPage(path: string): string | undefined {
  try {
    return readFileSync(join(ROOT, path), 'utf8')
  } catch {
    return undefined
  }
}

if (import.meta.main) {
  const pages = referencePages()
  for (const [path, text] of pages) writeFileSync(join(ROOT, path), text)
  console.log(`wrote ${[...pages.keys()].join(', ')}`)
}
