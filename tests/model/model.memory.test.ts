import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'memory',
  sequences: 50,
  messageSequences: 150,
  place: () => Promise.resolve({ engine: 'memory' }),
})
