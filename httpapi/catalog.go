package httpapi

import "github.com/seed-7082ffec/payments"

// catalogRoutes are what a merchant sells: products, coupons and plans.
func catalogRoutes(svc *payments.Service) []route {
	const products, coupons, plans = "products", "coupons", "plans"
	return []route{
		write(products, "POST /v1/products", withBody(svc.Products.Create)),
		read(products, "GET /v1/products", withQuery(svc.Products.List)),
		read(products, "GET /v1/products/{id}", withID(svc.Products.Get)),
		write(products, "POST /v1/products/{id}", withIDBody(svc.Products.Update)),
		write(products, "DELETE /v1/products/{id}", withID(svc.Products.Delete)),

		write(coupons, "POST /v1/coupons", withBody(svc.Coupons.Create)),
		read(coupons, "GET /v1/coupons", withQuery(svc.Coupons.List)),
		read(coupons, "GET /v1/coupons/{id}", withID(svc.Coupons.Get)),
		write(coupons, "POST /v1/coupons/{id}", withIDBody(svc.Coupons.Update)),
		write(coupons, "DELETE /v1/coupons/{id}", withID(svc.Coupons.Delete)),

		write(plans, "POST /v1/plans", withBody(svc.Plans.Create)),
		read(plans, "GET /v1/plans", withQuery(svc.Plans.List)),
		read(plans, "GET /v1/plans/{id}", withID(svc.Plans.Get)),
		write(plans, "POST /v1/plans/{id}", withIDBody(svc.Plans.Update)),
		write(plans, "DELETE /v1/plans/{id}", withID(svc.Plans.Delete)),
	}
}
