import { HEADER } from './header-names.ts'
import { isTrue } from './request-values.ts'

const NONE = { SingleIndexes: [], CompositeIndexes: [] }
const VERSION_2 = JSON.stringify({ UtilizedIndexes: NONE, PotentialIndexes: NONE })
const VERSION_1 = JSON.stringify({
  UtilizedSingleIndexes: [],
  PotentialSingleIndexes: [],
  UtilizedCompositeIndexes: [],
  PotentialCompositeIndexes: [],
})

/**
 * The header with index metrics, for clients that ask for them: no query uses an index here, and none would make it
 * faster. The older form is in base64, the newer one percent-encoded.
 */
export function indexMetricsHeader({
  header,
}: {
  readonly header: (name: string) => string | undefined
}): Readonly<Record<string, string>> {
  if (isTrue(header(HEADER.populateIndexMetrics2))) {
    return { [HEADER.indexUtilization]: encodeURIComponent(VERSION_2) }
  }
  if (isTrue(header(HEADER.populateIndexMetrics))) {
    return { [HEADER.indexUtilization]: Buffer.from(VERSION_1).toString('base64') }
  }
  return {}
}
