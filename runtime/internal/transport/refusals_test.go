package transport

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// Nobody can fill the table of addresses so that callers share a count: an address costs nothing.
func TestRefusedBodiesOfAddressesBlockNoCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &Handler{}
		address := func(i int) request.User { return request.User{Issuer: fmt.Sprint("address", i)} }
		for i := range maxRefusers {
			h.refusals.of(address(i)).add(address(i), netHTTPRest)
		}
		last := address(maxRefusers)
		h.refusals.of(last).add(last, maxRefused+1)
		if h.refusals.of(last).wait(last) == 0 {
			t.Error("an address beyond the table has no bound")
		}
		caller := request.User{Issuer: "https://idp.example", Subject: "ann"}
		if wait := h.refusals.of(caller).wait(caller); wait > 0 {
			t.Errorf("a caller without a refused body waits for %s", wait)
		}
	})
}

// A body that an outage of the server has refused is no fault of its caller.
func TestOnlyRefusalsOfCallersCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for status, counts := range map[int]bool{
			http.StatusOK: false, http.StatusBadRequest: true, http.StatusRequestEntityTooLarge: true,
			http.StatusInternalServerError: false, http.StatusServiceUnavailable: false,
		} {
			h := &Handler{}
			v := &visit{}
			v.w, v.body.bytes = &v.own, maxRefused+1
			v.w.status, v.w.user = status, request.User{Issuer: "https://idp.example", Subject: "ann"}
			h.countRefused(v)
			if wait := h.refusals.of(v.w.user).wait(v.w.user); (wait > 0) != counts {
				t.Errorf("status %d: the caller waits for %s", status, wait)
			}
		}
	})
}
