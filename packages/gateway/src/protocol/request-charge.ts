/*
 * Request charges in request units, a simple formula instead of the service's unpublished one: what counts is how
 * many bytes were read or written, in KiB. Time to live costs nothing (TTL-17).
 */

const KIB = 1024
/** As in the service: writing a small document costs about five times a read of it. */
const WRITE_FACTOR = 5
/** Pages share the cost of a request among many documents. */
const PAGE_UNITS_PER_KIB = 0.25
const UNITS_PER_EXAMINED = 0.02
/** A hundredth of a second of computing. */
const STEPS_PER_UNIT = 200_000

/** Of a point read: one unit for each KiB begun. */
export function readCharge(chars: number): number {
  return Math.max(1, Math.ceil(chars / KIB))
}

/** Of a write: five units for each KiB begun; a delete is one of nothing. */
export function writeCharge(chars: number): number {
  return WRITE_FACTOR * readCharge(chars)
}

/** Of a page of a feed or list: one unit and a quarter for each KiB. */
export function pageCharge(chars: number): number {
  return 1 + (PAGE_UNITS_PER_KIB * chars) / KIB
}

/** Of a page of a query: as a page, two hundredths for each document that was looked at, and for what it computed. */
export function queryCharge({
  chars,
  examined,
  steps,
}: {
  readonly chars: number
  readonly examined: number
  readonly steps: number
}): number {
  return pageCharge(chars) + UNITS_PER_EXAMINED * examined + Math.floor(steps / STEPS_PER_UNIT)
}

/** Of everything that concerns no document. */
export const METADATA_CHARGE = 1

/** The text of the header. */
export function chargeText(units: number): string {
  return String(Math.round(units * 100) / 100)
}
