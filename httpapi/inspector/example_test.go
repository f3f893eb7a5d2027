package inspector_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func ExampleNew() {
	ctx := context.Background()
	svc, err := payments.New(ctx, memory.New(), payments.Config{Sandbox: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar"})
	if err != nil {
		fmt.Println(err)
		return
	}

	look := inspector.New(svc, inspector.Config{
		Allow: func(r *http.Request, merchant string) bool { return merchant == m.ID }, // the host's own rule
	})
	mux := http.NewServeMux()
	mux.Handle("/inspector/", http.StripPrefix("/inspector", look))
	server := httpapi.NewServer("127.0.0.1:8080", mux)
	server.RegisterOnShutdown(look.Close)

	w := httptest.NewRecorder()
	server.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080/inspector/", nil))
	fmt.Println(w.Code, w.Header().Get("Location") == m.ID+"/")
	// Output: 303 true
}
