import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'memory',
  sequences: 25,
  messageSequences: 80,
  place: () => Promise.resolve({ engine: 'memory' }),
})
