import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'sqlite',
  sequences: 10,
  messageSequences: 10,
  place: () => Promise.resolve({ engine: 'sqlite' }),
})
