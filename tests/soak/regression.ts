/** One value at one time. */
export interface Point {
  readonly x: number
  readonly y: number
}

export interface Line {
  readonly slope: number
  /** Of the slope, if what is left over is noise. */
  readonly slopeError: number
  /** Mean of the values. */
  readonly mean: number
}

/** The line through the points with the least squares. At least three points of different x. */
export function linearRegression(points: readonly Point[]): Line {
  const count = points.length
  const mean = (of: (point: Point) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / count
  const meanX = mean(({ x }) => x)
  const meanY = mean(({ y }) => y)
  const spread = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0)
  if (count < 3 || spread === 0) return { slope: 0, slopeError: Infinity, mean: meanY }
  const slope = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0) / spread
  const residual = points.reduce((sum, { x, y }) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0)
  return { slope, slopeError: Math.sqrt(residual / (count - 2) / spread), mean: meanY }
}
