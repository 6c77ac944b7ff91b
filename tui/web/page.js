// The keys of the page belong to the terminal.
window.addEventListener("load", () => document.querySelector(".xterm-helper-textarea").focus());
