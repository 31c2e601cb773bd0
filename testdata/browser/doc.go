// Package browser drives the operators' console, on a real server, and the page of mcpgen docs in
// headless Chromium. All of it is in tests; this module is apart from the repository's, so that
// nobody who uses mcpgen downloads a browser's driver.
package browser
