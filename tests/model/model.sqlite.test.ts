import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'sqlite',
  sequences: 500,
  place: () => Promise.resolve({ engine: 'sqlite' }),
})
