// Runs before the first paint, so that a dark page never flashes white.
(function () {
  var choice = null;
  try {
    choice = localStorage.getItem('berth.theme');
  } catch (e) {
    choice = null;
  }
  var dark = choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  var c = document.documentElement.classList;
  if (dark) {
    c.add('pf-v6-theme-dark');
  }
})();
