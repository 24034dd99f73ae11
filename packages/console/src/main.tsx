import { render } from 'preact';
import { App } from './app.jsx';
import './styles.css';

const page = document.getElementById('page');
if (page !== null) render(<App />, page);
