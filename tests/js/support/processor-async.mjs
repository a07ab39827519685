export default async function late() {}
