import tseslint from 'typescript-eslint';

/** Rules that hold the house style; formatting is prettier's. */
export default tseslint.config(
  { ignores: ['dist/', 'data/', 'node_modules/', 'eslint.config.mjs', 'jest.config.mjs'] },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'no-restricted-syntax': [
        'error',
        {
          selector: "MemberExpression[object.name='process'][property.name='env']",
          message: 'Only src/config reads the environment.',
        },
      ],
    },
  },
  { files: ['src/config/**', 'test/**', 'bench/**'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['test/**', '**/*.spec.ts'],
    rules: { '@typescript-eslint/no-non-null-assertion': 'off' },
  },
);
