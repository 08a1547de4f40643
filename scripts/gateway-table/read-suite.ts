import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readCases, type Feature } from './read-cases.ts'

/**
 * All features of a folder's tests, or of a suite that drivers run. Files stand in this order; those that it does not name
 * come last.
 */
export function readSuite(
  folder: string,
  order: readonly string[],
  ending: '.test.ts' | '.ts' = '.test.ts',
): readonly Feature[] {
  const place = (file: string): number => {
    const index = order.indexOf(file.replace(ending, ''))
    return index === -1 ? order.length : index
  }
  return readdirSync(folder)
    .filter((file) => file.endsWith(ending))
    .toSorted((a, b) => place(a) - place(b))
    .flatMap((file) => readCases(file, readFileSync(join(folder, file), 'utf8')))
}

/** The number of cases, tables counted by their rows. */
export function countCases(features: readonly Feature[]): number {
  return features.flatMap(({ cases }) => cases).reduce((sum, { count }) => sum + count, 0)
}

/** A table of features with their counts, and a list of each one's cases. */
export function featuresAsMarkdown(features: readonly Feature[]): string {
  const rows = features.map((feature) => `| ${escaped(feature.name)} | ${countCases([feature])} |`)
  const total = `| **together** | **${countCases(features)}** |`
  const lists = features.map(({ name, cases }) => {
    const lines = cases.map((one) => {
      const times = one.count === 1 ? '' : ` (${one.count} cases)`
      return `- ${escaped(one.name)}${times}`
    })
    return `### ${escaped(name)}\n\n${lines.join('\n')}`
  })
  return [['| Feature | Cases |', '|---|---|', ...rows, total].join('\n'), ...lists].join('\n\n')
}

function escaped(text: string): string {
  return text.replaceAll(/[*_<>[\]`|\\]/g, String.raw`\$&`)
}
