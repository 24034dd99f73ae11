import tseslint from 'typescript-eslint';
import { REFUSED_IDENTIFIERS } from './scripts/refused-words.mjs';

const ENVIRONMENT = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: 'Only src/config reads the environment.',
};
/** Nest's `get` with a class, such as `app.get(TokenCache, { strict: false })`. */
const SERVICE_LOCATOR = {
  selector:
    "CallExpression[callee.property.name='get'][arguments.0.type='Identifier'][arguments.0.name=/^[A-Z][A-Za-z]*[a-z]/]",
  message: 'Take providers by injection; only the start of an application gets its context.',
};

/** Rules that hold the house style; formatting is prettier's. */
export default tseslint.config(
  {
    ignores: [
      'dist/',
      'packages/*/dist/',
      'examples/*/dist/',
      'data/',
      'node_modules/',
      'site/',
      'eslint.config.mjs',
      'jest.config.mjs',
    ],
  },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      // scripts/check-words.mjs refuses them in Lua, and other words everywhere.
      'id-denylist': ['error', ...REFUSED_IDENTIFIERS, 'word', 'words'],
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'no-restricted-syntax': ['error', ENVIRONMENT],
    },
  },
  {
    files: ['{bench,scripts,test}/**/*.mjs'],
    rules: { 'id-denylist': ['error', ...REFUSED_IDENTIFIERS] },
  },
  {
    // No compiler checks these: a local name that hides an imported one calls itself.
    files: ['bench/**/*.mjs'],
    rules: { 'no-shadow': 'error' },
  },
  {
    files: ['src/**'],
    // The two starts; and `document.ts` reads the routes of an application that is not its own.
    ignores: ['src/app/api-server.ts', 'src/app/admin-server.ts', 'src/openapi/document.ts'],
    rules: { 'no-restricted-syntax': ['error', ENVIRONMENT, SERVICE_LOCATOR] },
  },
  {
    files: ['src/config/**', 'test/**', 'bench/**', 'packages/*/test/**', 'examples/**'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    // Specs take providers out of the modules that they test.
    files: ['src/**/*.spec.ts'],
    rules: { 'no-restricted-syntax': ['error', ENVIRONMENT] },
  },
  {
    files: ['test/**', '**/*.spec.ts', 'packages/*/test/**'],
    rules: { '@typescript-eslint/no-non-null-assertion': 'off' },
  },
);
