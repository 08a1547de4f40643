import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'memory',
  sequences: 10_000,
  place: () => Promise.resolve({ engine: 'memory' }),
})
