// Package browser drives the operators' console in headless Chromium, on a real server. All of it
// is in tests; this module is apart from the repository's, so that nobody who uses mcpgen downloads
// a browser's driver.
package browser
