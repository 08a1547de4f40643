/** The result of a range's last measurement. */
export interface MeasuredRange {
  /** Newest LSN at that time. */
  readonly lsn: number
  readonly documents: number
  readonly bytes: number
}

/** Fewer commits than this make no difference. */
const LEAST_COMMITS = 16
/** Estimated documents in a commit: to measure too late is better than to measure all the time. */
const DOCUMENTS_OF_COMMIT = 16
/** Of one document, when the size is unknown. */
const ASSUMED_BYTES = 1024

/**
 * Whether a range may have grown above the bound since its last measurement. Measuring costs in proportion to the
 * range's documents, so enough commits must have happened to justify it.
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
