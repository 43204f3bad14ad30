// The screen "My bookings".

export { default } from '../book/bookings.tsx';
