/** What was found when a range was last measured. */
export interface MeasuredRange {
  /** Newest LSN at that time. */
  readonly lsn: number
  readonly documents: number
  readonly bytes: number
}

/** Fewer commits than this make no difference. */
const LEAST_COMMITS = 16
/** Documents that a commit is taken to bring: measured too late is better than measured all the time. */
const DOCUMENTS_OF_COMMIT = 16
/** Of a document, where none is known. */
const ASSUMED_BYTES = 1024

/**
 * Whether a range may have come above the bound since it was measured. Measuring costs as much as the
 * range has documents, so that their number, too, has to be paid for by commits.
 */
export function isWorthMeasuring(
  measured: MeasuredRange | undefined,
  { lsn, splitAboveBytes }: { readonly lsn: number; readonly splitAboveBytes: number },
): boolean {
  if (measured === undefined) return lsn > 0
  const { documents, bytes } = measured
  const averageBytes = documents === 0 ? ASSUMED_BYTES : Math.max(1, bytes / documents)
  const missingDocuments = Math.max(0, splitAboveBytes - bytes) / averageBytes
  const commits = Math.max(
    LEAST_COMMITS,
    missingDocuments / DOCUMENTS_OF_COMMIT,
    bytes > splitAboveBytes ? documents / DOCUMENTS_OF_COMMIT : 0,
  )
  return lsn - measured.lsn >= commits
}
