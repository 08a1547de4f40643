import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'memory',
  sequences: 200,
  place: () => Promise.resolve({ engine: 'memory' }),
})
